/** Copy without the properties that are undefined, for types that distinguish undefined from absent. */
export function defined<T extends object>(record: T): Defined<T> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(record)) if (value !== undefined) copy[name] = value;
  return copy as Defined<T>;
}

type Defined<T> = {
  [Name in keyof T as undefined extends T[Name] ? Name : never]?: Exclude<T[Name], undefined>;
} & { [Name in keyof T as undefined extends T[Name] ? never : Name]: T[Name] };
