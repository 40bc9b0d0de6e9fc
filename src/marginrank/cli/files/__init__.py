"""What commands read and write: data, side files, data sets on disk."""
