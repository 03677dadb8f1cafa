/** Removes the database that the URL names, with all that is in it. For tests, which each have one of their own. */
import { MongoClient } from 'mongodb';
import { optionsFor } from './url.ts';

export async function dropDatabase(url: string): Promise<void> {
  const client = new MongoClient(url, optionsFor(url));
  try {
    await client.db().dropDatabase();
  } finally {
    await client.close();
  }
}
