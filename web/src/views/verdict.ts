/** The result of a run in sentences: who got what, how full the queue was, what was lost and why. */

import { quantile } from "./groups";
import { arrow } from "./queues";
import type { Metrics, QueueMetrics } from "./totals";
import { listed, written } from "./words";

/** Flows up to which each one is named. */
const FEW = 4;

/** The sentences on a run. */
export function verdict(of: Metrics): string[] {
  return [shares(of), completion(of), fullest(of.queues), losses(of)].filter((one) => one !== "");
}

function shares({ flows, jain }: Metrics): string {
  const active = flows.filter((flow) => !Number.isNaN(flow.throughput_mbps));
  if (!active.length) return "";
  const fair = active.length > 1 && !Number.isNaN(jain) ? ` Jain's index of the throughput is ${written(jain)}.` : "";
  if (active.length > FEW) {
    const sorted = [...active].sort((a, b) => a.throughput_mbps - b.throughput_mbps);
    const [least, middle, most] = [0, Math.floor((sorted.length - 1) / 2), sorted.length - 1].map((i) => sorted[i]);
    const median =
      ((middle?.throughput_mbps ?? 0) + (sorted[Math.ceil((sorted.length - 1) / 2)]?.throughput_mbps ?? 0)) / 2;
    return (
      `${active.length} flows got between ${written(least?.throughput_mbps ?? 0)} (${least?.name}) and ` +
      `${written(most?.throughput_mbps ?? 0)} Mb/s (${most?.name}), ${written(median)} in the median.${fair}`
    );
  }
  const total = active.reduce((sum, flow) => sum + flow.throughput_mbps, 0);
  const words = active.map(({ name, cc, throughput_mbps }) => {
    const share = active.length > 1 && total > 0 ? `, ${Math.round((100 * throughput_mbps) / total)} %` : "";
    return `${name}${cc ? ` (${cc})` : ""} got ${written(throughput_mbps)} Mb/s${share}`;
  });
  return `${active.length > 1 ? "Of the flows, " : "The flow "}${listed(words)}.${fair}`;
}

function completion({ completion_s }: Metrics): string {
  if (!completion_s.length) return "";
  const [middle, tail] = [0.5, 0.99].map((share) => quantile(completion_s, share));
  return (
    `${whole(completion_s.length)} transfers finished, half of them within ${written(middle ?? Number.NaN)} s and 99 % ` +
    `within ${written(tail ?? Number.NaN)} s.`
  );
}

/** The queue whose packets waited longest together: the one that matters most. */
export function mainQueue(queues: QueueMetrics[]): QueueMetrics | null {
  const weight = (queue: QueueMetrics): number => (queue.delay_mean_ms || 0) * queue.forwarded_packets;
  const found = queues.reduce<QueueMetrics | null>(
    (best, one) => (!best || weight(one) > weight(best) ? one : best),
    null,
  );
  return found && weight(found) > 0 ? found : null;
}

function fullest(queues: QueueMetrics[]): string {
  const queue = mainQueue(queues);
  if (!queue) return "";
  const used =
    !queue.wired || Number.isNaN(queue.utilisation)
      ? ""
      : `; its link was ${(100 * queue.utilisation).toFixed(1)} % used`;
  return (
    `The queue ${arrow(queue.name)} delayed packets by ${written(queue.delay_mean_ms)} ms on average, 95 % of them by at ` +
    `most ${written(queue.delay_p95_ms)} ms, with up to ${whole(queue.max_packets)} packets waiting${used}.`
  );
}

function losses({ queues, flows }: Metrics): string {
  const reasons = queues
    .flatMap((queue): [number, string][] => {
      const name = arrow(queue.name);
      return [
        [queue.dropped_overflow, `the queue ${name} was full`],
        [queue.dropped_early, `${name} dropped early`],
        [queue.dropped_forced, `${name} dropped by rule`],
        [queue.corrupted_packets, `${name} corrupted them`],
      ];
    })
    .filter(([count]) => count > 0)
    .sort(([a], [b]) => b - a);
  const marked = queues.reduce((sum, queue) => sum + queue.marked_packets, 0);
  const marks = marked > 0 ? ` ${whole(marked)} packets were marked CE.` : "";
  if (!reasons.length) return `No packet was lost.${marks}`;
  const lost = reasons.reduce((sum, [count]) => sum + count, 0);
  const told = reasons.slice(0, FEW).map(([count, why]) => `${whole(count)} because ${why}`);
  const rest = reasons.slice(FEW).reduce((sum, [count]) => sum + count, 0);
  if (rest > 0) told.push(`${whole(rest)} elsewhere`);
  const text = reasons.length === 1 ? `all because ${reasons[0]?.[1]}` : listed(told);
  const timeouts = flows.reduce((sum, flow) => sum + (flow.timeouts || 0), 0);
  const waited =
    timeouts > 0
      ? ` The senders had ${whole(timeouts)} retransmission ${timeouts === 1 ? "timeout" : "timeouts"}.`
      : "";
  return `${whole(lost)} packets were lost, ${text}.${marks}${waited}`;
}

const whole = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 0 });
