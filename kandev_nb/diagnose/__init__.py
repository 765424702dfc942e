"""What a person asks for when something does not work: tests, explanations, diagnostics."""
