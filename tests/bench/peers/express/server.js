// A webhook as tutorials show it: Express, pg and amqplib, one process for each core.
//
//     node server.js DATABASE_URL AMQP_URL SECRET

const cluster = require("node:cluster");
const crypto = require("node:crypto");

const [database, amqp, secret] = process.argv.slice(2);
const PROCESSES = 2;
const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");

async function serve() {
  const express = require("express");
  const { Pool } = require("pg");
  const pool = new Pool({ connectionString: database, max: 16 });
  const connection = await require("amqplib").connect(amqp);
  const channel = await connection.createConfirmChannel();
  await channel.assertQueue("express", { durable: true });

  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.post("/hooks/dev", express.raw({ type: "*/*", limit: "1mb" }), async (request, response) => {
    const id = request.get("webhook-id") ?? "";
    if (!isSigned(id, request)) return response.status(401).end();
    try {
      const inserted = await pool.query({
        name: "insert",
        text: "INSERT INTO express (id, body) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        values: [id, request.body],
      });
      if (inserted.rowCount === 1) await publish(channel, id);
      response.status(200).end();
    } catch (error) {
      console.error(error.message);
      response.status(503).end();
    }
  });
  app.listen(Number(process.env.PORT), "127.0.0.1", () => process.send("ready"));
}

function isSigned(id, request) {
  const timestamp = request.get("webhook-timestamp") ?? "";
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const mac = crypto.createHmac("sha256", key).update(`${id}.${timestamp}.`).update(request.body);
  const wanted = Buffer.from(`v1,${mac.digest("base64")}`);
  const given = Buffer.from(request.get("webhook-signature") ?? "");
  return given.length === wanted.length && crypto.timingSafeEqual(given, wanted);
}

function publish(channel, id) {
  return new Promise((resolve, reject) => {
    const done = (error) => (error ? reject(error) : resolve());
    channel.sendToQueue("express", Buffer.from(id), { persistent: true }, done);
  });
}

async function main() {
  const { Client } = require("pg");
  const client = new Client({ connectionString: database });
  await client.connect();
  await client.query(
    "CREATE TABLE IF NOT EXISTS express (id text PRIMARY KEY, body bytea NOT NULL, " +
      "received_at timestamptz NOT NULL DEFAULT now())",
  );
  await client.end();
  // A free port for all processes.
  const probe = require("node:net").createServer().listen(0, "127.0.0.1", () => {
    const { port } = probe.address();
    probe.close(() => {
      let ready = 0;
      for (let count = 0; count < PROCESSES; count += 1) {
        cluster.fork({ PORT: String(port) }).on("message", () => {
          ready += 1;
          if (ready === PROCESSES) console.log(`127.0.0.1:${port}`);
        });
      }
    });
  });
}

if (cluster.isPrimary) main();
else serve();
