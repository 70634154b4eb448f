"""The program around the commands: what it answers by itself, and how it calls a command."""
