// What the backup's CronJob runs: the image has what takes, checks and keeps snapshots.
import { runEtcdBackup } from "/opt/keelson/dist/bundle/etcd-backup.js";

try {
  await runEtcdBackup(process.env, "/backup", console.log);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
