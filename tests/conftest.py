"""What all tests share; the slow definitions they compare with are in ``brute_force.py`` beside this file."""
