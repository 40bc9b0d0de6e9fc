"""The one room that trains: problems, fits at one alpha, paths, folds, and the choice of alpha."""
