"""Run sets: recordings that are compared as one side, and two such sides."""
