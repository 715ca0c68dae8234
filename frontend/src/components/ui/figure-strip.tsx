/** Up to five key figures, each with the comparison that gives it meaning. */
export type Figure = {
  label: string;
  value: React.ReactNode;
  unit?: string;
  note?: React.ReactNode;
  title?: string;
};

export function FigureStrip({ figures }: { figures: readonly Figure[] }) {
  return (
    <dl className="figs">
      {figures.slice(0, 5).map((figure) => (
        <div className="fig" key={figure.label} title={figure.title}>
          <dt>{figure.label}</dt>
          <dd>
            {figure.value}
            {figure.unit ? <span className="u">{figure.unit}</span> : null}
          </dd>
          {figure.note ? <dd className="note-line">{figure.note}</dd> : null}
        </div>
      ))}
    </dl>
  );
}
