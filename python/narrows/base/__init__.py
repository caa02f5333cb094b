"""What every other group may use: errors, the engine's identity, files, memory, signals, numbers in words."""
