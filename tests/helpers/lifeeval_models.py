"""The eleven models of LifeEval."""

# Their names in the paper, and in the release.
NAMES = {
    "Claude-Sonnet-3.7": "claude-3-7-sonnet-20250219", "Claude-Sonnet-4": "claude-sonnet-4-20250514",
    "DeepSeek-R1": "deepseek-r1", "Gemini-2.5-Pro": "gemini-2.5-pro", "GPT-o3": "o3-2025-04-16",
    "Claude-Haiku-3": "claude-3-haiku-20240307", "DeepSeek-V3": "deepseek-v3", "Gemini-2.5-Flash": "gemini-2.5-flash",
    "GPT-4o": "gpt-4o", "Llama-3.1-70B": "Meta-Llama-3.1-70B-Instruct", "Llama-3.1-8B": "Meta-Llama-3.1-8B-Instruct",
}  # fmt: skip
