/** Reads the properties of an alarm, and collects every mistake in them. Pure. */
import { aggregatePattern } from '@anneal/contracts/calls/measuring.ts';
import type { Mistake } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { aggregateText, longestPeriod, statisticNames } from '@anneal/hot/types/alarm-limits.ts';
import { comparisons, type LimitComparison } from './filter.ts';

/** A value as text; a list or a map is empty. */
export const propertyText = (value: Json | undefined): string =>
  value === undefined || value === null || typeof value === 'object' ? '' : String(value);

/** The surroundings of an alarm. */
export interface AlarmSetting {
  /** The stored period, in seconds. */
  readonly period: number;
  readonly self: readonly string[];
}

/** Collects every mistake of an alarm, and reads its properties. */
export class AlarmProperties {
  readonly properties: JsonObject;
  readonly mistakes: Mistake[] = [];
  readonly #path: string;
  readonly #setting: AlarmSetting;

  constructor(properties: JsonObject, setting: AlarmSetting, path = '') {
    this.properties = properties;
    this.#setting = setting;
    this.#path = path;
  }

  /** The names of the alarm, which posters use. */
  get self(): readonly string[] {
    return this.#setting.self;
  }

  within(properties: JsonObject, path: string): AlarmProperties {
    const reader = new AlarmProperties(properties, this.#setting, `${this.#path}${path}.`);
    (reader as { mistakes: Mistake[] }).mistakes = this.mistakes;
    return reader;
  }
  mistake(name: string, message: string): void {
    this.mistakes.push({ code: 'InvalidProperty', path: `${this.#path}${name}`, message });
  }
  text(name: string, fallback = ''): string {
    const value = this.properties[name];
    return value === undefined || value === null ? fallback : propertyText(value);
  }
  required(name: string): string {
    const value = this.text(name);
    if (value === '') this.mistake(name, 'must be given');
    return value;
  }
  number(name: string, fallback?: number): number {
    const given = this.text(name);
    const value = given === '' ? fallback : Number(given);
    if (value === undefined || !Number.isFinite(value)) this.mistake(name, 'must be a number');
    return value ?? Number.NaN;
  }
  integer(name: string, fallback: number, [low, high]: readonly [number, number]): number {
    const value = this.number(name, fallback);
    if (!Number.isInteger(value) || value < low || value > high) {
      this.mistake(name, `must be an integer from ${low} to ${high}`);
    }
    return value;
  }
  boolean(name: string, fallback: boolean): boolean {
    const value = this.properties[name];
    return value === undefined || value === null
      ? fallback
      : value === true || propertyText(value).toLowerCase() === 'true';
  }
  list(name: string): readonly Json[] {
    const value = this.properties[name];
    return Array.isArray(value) ? value : [];
  }
  texts(name: string): string[] {
    return this.list(name).flatMap((each) => (typeof each === 'string' && each !== '' ? [each] : []));
  }
  maps(name: string): JsonObject[] {
    return this.list(name).filter(isObject);
  }
  comparison(
    name: string,
    fallback: LimitComparison,
    known: Readonly<Record<string, LimitComparison>> = {},
  ): LimitComparison {
    const given = this.text(name, fallback);
    const found = Object.hasOwn(known, given) ? known[given] : comparisons.find((each) => each === given);
    if (!found) this.mistake(name, `must be one of ${comparisons.join(', ')}`);
    return found ?? fallback;
  }
  aggregate(name: string, fallback = 'mean'): string {
    const given = this.text(name, fallback);
    const aggregate = (Object.hasOwn(statisticNames, given) ? statisticNames[given] : undefined) ?? given;
    if (!aggregatePattern.test(aggregate)) {
      this.mistake(name, aggregateText);
    }
    return aggregate;
  }
  granularity(name: string): number {
    const value = this.integer(name, 60, [1, longestPeriod]);
    const { period } = this.#setting;
    if (value % period !== 0) this.mistake(name, `must be a multiple of the stored period, ${period} s`);
    return value;
  }
}
