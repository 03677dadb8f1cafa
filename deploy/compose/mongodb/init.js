/* A script for mongosh. Each step may already be done, by an earlier run or by a run that was killed. */
const { MONGODB_ROOT_PASSWORD: rootPassword, MONGODB_PASSWORD: password } = process.env;
const nodes = ['mongodb-1:27017', 'mongodb-2:27017', 'mongodb-3:27017'];
const notYetInitialised = 94;

const administrator = `mongodb://root:${encodeURIComponent(rootPassword)}@`;
const first = new Mongo(`${administrator}${nodes[0]}/admin?directConnection=true`).getDB('admin');
try {
  first.runCommand({ replSetGetStatus: 1 });
} catch (error) {
  if (error.code !== notYetInitialised) throw error;
  const members = nodes.map((host, index) => ({ _id: index, host }));
  first.runCommand({ replSetInitiate: { _id: 'anneal', members } });
  print('replica set created');
}

// The driver waits thirty seconds for a primary. Without one the script fails, and Compose starts it again.
const anneal = new Mongo(`${administrator}${nodes.join(',')}/admin?replicaSet=anneal`).getDB('anneal');
// Create the user in the database of the URL, because MongoDB looks there for a client without `authSource`.
const user = { pwd: password, roles: [{ role: 'readWrite', db: 'anneal' }] };
if (anneal.getUser('anneal') === null) {
  anneal.createUser({ user: 'anneal', ...user }, { w: 'majority' });
  print('user of the services created');
} else {
  // This also changes a password: edit .env, then run `docker compose up`.
  anneal.updateUser('anneal', user, { w: 'majority' });
}
