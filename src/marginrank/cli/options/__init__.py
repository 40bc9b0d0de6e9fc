"""Options, what their values become, and which command has which."""
