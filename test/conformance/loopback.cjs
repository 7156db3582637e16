// Loaded before programs of others that would listen on every interface: they listen on loopback. Below `listen`, because one
// with a host looks it up first, and such programs ask for their port at once.
const { Server } = require("node:net");

const bind = Server.prototype._listen2;
Server.prototype._listen2 = function (address, port, ...rest) {
  const everywhere = typeof port === "number" && (address === null || address === undefined);
  return bind.call(this, everywhere ? "127.0.0.1" : address, port, ...rest);
};
