/** JSON that `JSON.parse` would change: the form of numbers, and the order of keys that look like integers. */
export const oddJson =
  '{"b":[1.0,-0,1e2,1.10,12345678901234567890,1e400],"10":{"z":0,"2":"\\ud800","1":"\\u0000"},"9":null,"toString":{},"":[]}';
