/* Run by mongosh. Everything it does may have been done before, by itself or by one that was killed in the middle. */
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
  print('The replica set is made.');
}

// Waits for a primary by itself, for thirty seconds; when there is none by then, this ends and is started again.
const anneal = new Mongo(`${administrator}${nodes.join(',')}/admin?replicaSet=anneal`).getDB('anneal');
// In the database of the URL, which is where a client without `authSource` is looked up.
const user = { pwd: password, roles: [{ role: 'readWrite', db: 'anneal' }] };
if (anneal.getUser('anneal') === null) {
  anneal.createUser({ user: 'anneal', ...user }, { w: 'majority' });
  print('The user of the services is made.');
} else {
  // Also how a password is changed: in .env, then `docker compose up`.
  anneal.updateUser('anneal', user, { w: 'majority' });
}
