"""The choices: which adapters stand behind which ports."""
