"""Why a message was or was not correlated, and what came near to taking it."""
