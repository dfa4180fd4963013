"""What a curator learns of other people, whose outcomes are known, and what is promised to them."""
