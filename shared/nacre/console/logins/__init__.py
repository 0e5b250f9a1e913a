"""The page of an owner's logins to other servers, and the browser's way back from them."""
