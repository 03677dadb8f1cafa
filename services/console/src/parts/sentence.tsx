/** A sentence of the server. Its times are shown in the zone of the reader. */
import { formatClock } from '@anneal/client/text/time.ts';

const time = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

export function Sentence({ text }: { text: string }) {
  return text.split(time).map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      // oxlint-disable-next-line react/no-array-index-key -- the parts of a sentence have no other name
      <time key={index} dateTime={part} title={new Date(part).toLocaleString()}>
        {formatClock(part)}
      </time>
    ),
  );
}
