/** A choice among a few, outside of forms: its label is for those who do not see what it narrows. */

export type Option = { value: string; label: string };

export const Select = ({
  label,
  value,
  options,
  onChange,
  className = "",
}: {
  label: string;
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
  className?: string;
}) => (
  <select
    className={`inp ${className}`}
    aria-label={label}
    value={value}
    onChange={(event) => onChange(event.target.value)}
  >
    {options.map((option) => (
      <option key={option.value} value={option.value}>
        {option.label}
      </option>
    ))}
  </select>
);

/** A filter of a list: one of them, or all. */
export const FilterSelect = ({ options, ...rest }: Parameters<typeof Select>[0]) => (
  <Select {...rest} options={[{ value: "", label: `${rest.label}: all` }, ...options]} />
);
