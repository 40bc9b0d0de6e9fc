"""What touches the machine: threads, memory, files written whole, a line on the terminal."""
