"""What commands show: tables, figures, bars and pictures."""
