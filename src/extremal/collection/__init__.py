"""Reports from people's own devices: questionnaire, draw in the browser, store, results."""
