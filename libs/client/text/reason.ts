/** The reason of a state. Heat's words for normal progress are left out, because the state is clearer. */
export const reasonText = (reason: string | null | undefined): string =>
  reason === 'state changed' ? '' : (reason ?? '');
