"""What every store of blobs, every queue and every vault refuses."""
