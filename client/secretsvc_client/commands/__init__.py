"""The commands, a module for each group: `EXAMPLES`, `configure`, and `RUN` by the command's name."""
