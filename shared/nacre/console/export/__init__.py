"""The page that downloads everything a Being keeps."""
