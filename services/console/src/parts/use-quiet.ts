/** Texts that a person types. */
import { useEffect, useState } from 'react';

/** A text once it has not changed for a time. */
export function useQuiet(text: string, ms: number): string {
  const [quiet, setQuiet] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setQuiet(text), ms);
    return () => clearTimeout(timer);
  }, [text, ms]);
  return quiet;
}
