"""What is to be done at which times, for every protocol that can ask for it. Knows no protocol, clock or store."""
