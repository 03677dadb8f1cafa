/** Removes the database that the URL names, with all its contents. For tests, each of which has its own database. */
import { MongoClient } from 'mongodb';
import { optionsFor } from './url.ts';

/**
 * Removes the database. A repeat is harmless.
 * @throws Error of the driver when the server cannot be reached
 */
export async function dropDatabase(url: string): Promise<void> {
  const client = new MongoClient(url, optionsFor(url));
  try {
    await client.db().dropDatabase();
  } finally {
    await client.close();
  }
}
