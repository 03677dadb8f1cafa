/** A count in a column: zero is normal and stays quiet, so that the others are seen. */
export const Count = ({ of }: { of: number }) => <span className={of === 0 ? 'dim' : ''}>{of.toLocaleString()}</span>;
