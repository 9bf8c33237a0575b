// The flags of `godwit perf`. Letters mean what they mean to perftest; what is our own has long names only.
#include "tool/perf/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace godwit::apps {

namespace {

std::string test_lines() {
  std::string text = "Tests:\n";
  for (const PerfTest& test : perf_tests()) text += fmt::format("  {:<14}{}\n", test.name, test.help);
  return text +
         "Without a launcher this waits as a server; the same with the server's name is the client:\n"
         "  node0$ godwit perf write_lat -d mlx5_0      node1$ godwit perf write_lat -d mlx5_0 node0\n"
         "Latency is measured between two ranks, the others wait for the end. In our own table percentiles are those\n"
         "of the means of as many iterations as take 20 us together, in perftest's those of single iterations.\n"
         "Bandwidth and message rate are, in our own table, measured between ranks i and i + n/2, all pairs at once\n"
         "(of an odd number the last rank rests), and added up.";
}

void add_size_flags(CLI::App& command, PerfWords& words) {
  command.add_option("-s,--size", words.size,
                     "one size: 2, 4K, 1M (default in perftest's table: latency 2, bandwidth 64K, atomics 8)");
  command.add_flag("-a,--all", words.all_sizes, "sizes 2, 4, 8, ... 8M");
  command.add_option("--minbytes", words.sweep.first, "first size of a sweep (default 8)");
  command.add_option("--maxbytes", words.sweep.last,
                     "last size (default 4M; am_lat, msg_rate: 4K; 8 for single words)");
  command.add_option("--stepbytes", words.sweep.step, "distance between sizes, instead of a factor");
  command.add_option("--stepfactor", words.sweep.factor, "factor between sizes (default 2)");
  command.add_option("--sizes", words.sizes, "exactly these sizes: 0,8,4K");
}

void add_adapter_flags(CLI::App& command, AdapterWords& words) {
  const std::string group = "Adapter (any of these leaves all transports but verbs out)";
  command.add_option("-d,--ib-dev", words.device, "device, or several: mlx5_0,mlx5_1 (GODWIT_IB_HCA)")->group(group);
  command.add_option("-i,--ib-port", words.port, "port of the device of -d")->check(CLI::Range(1, 255))->group(group);
  command.add_option("-x,--gid-index", words.gid_index, "index of the GID (GODWIT_IB_GID_INDEX)")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  command.add_option("-m,--mtu", words.mtu, "largest packet: 256, 512, 1024, 2048, 4096 (GODWIT_IB_MTU)")
      ->check(CLI::PositiveNumber)
      ->group(group);
  command.add_option("-q,--qp", words.queue_pairs, "queue pairs (GODWIT_IB_QPS_PER_PEER)")
      ->check(CLI::PositiveNumber)
      ->group(group);
  command.add_option("-I,--inline_size", words.inline_bytes, "largest inline message (GODWIT_IB_INLINE)")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  command.add_flag("-R,--rdma_cm", words.rdma_cm, "connect by rdma_cm (GODWIT_IB_CONNECT=rdmacm)")->group(group);
}

void add_run_flags(CLI::App& command, PerfWords& words) {
  command
      .add_option("-n,--iters", words.iterations,
                  "round trips or messages per size (default in perftest's table 1000, write_bw 5000; else latency "
                  "10000, bandwidth 100000, wake_lat 20, fewer for large sizes)")
      ->check(CLI::PositiveNumber);
  command.add_option("-D,--duration", words.duration_s, "perftest's table: about so many seconds per size, not -n")
      ->check(CLI::PositiveNumber);
  command.add_option("-w,--warmup_iters", words.warmup, "untimed ones before them (default: a tenth)")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("-t,--tx-depth,--depth", words.depth,
                  "operations in flight, for bandwidth (default in perftest's table 128, else 64)")
      ->check(CLI::Range(1, 65536));
  command
      .add_option("-l,--post_list", words.post_list,
                  "perftest's table, bandwidth: so many operations are started in a row (default 1)")
      ->check(CLI::Range(1, 65536));
  command.add_flag("-b,--bidirectional", words.bidirectional, "perftest's table, bandwidth: both ways at once");
  command.add_option("--check", words.checks, "checked exchanges per size, 0: none (default 1)")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--memory", words.memory,
                  "private: buffers from malloc; shared: from godwit::allocate (default: shared for put, write, get, "
                  "read and atomics, else private)")
      ->check(CLI::IsMember({"private", "shared"}));
  command
      .add_option("-A,--atomic_type", words.atomic_type,
                  "atomic_lat: FETCH_AND_ADD (default) or CMP_AND_SWAP, each of which swaps")
      ->check(CLI::IsMember({"FETCH_AND_ADD", "CMP_AND_SWAP"}));
  command
      .add_option("--atomics", words.atomics,
                  "atomic_lat: who executes those of 8 bytes: target (a CPU), adapter (the target's, where it has "
                  "atomics; default where verbs connects the two)")
      ->check(CLI::IsMember({"target", "adapter"}));
  command
      .add_option("--thread-mode", words.thread_mode,
                  "single or multiple: as ThreadMode of the context (default single; with --threads multiple)")
      ->check(CLI::IsMember({"single", "multiple"}));
  command
      .add_option("--threads", words.threads,
                  "our table, msg_rate, send_bw: threads in each rank, each with a communicator and -t operations of "
                  "its own; all communicators of a context share its worker and the worker's lock (default 1)")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--connect", words.connect,
                   "our table, latency: every other rank exchanges a message with rank 0 first, so that rank 0 has "
                   "that many connections");
  command.add_option("--idle-ms", words.idle_ms, "wake_lat: milliseconds before each ping (default 1000)")
      ->check(CLI::NonNegativeNumber);
}

void add_output_flags(CLI::App& command, PerfWords& words) {
  command
      .add_option("--table", words.table,
                  "perftest or godwit: which loops and columns (default: perftest for write_* and read_*, and for "
                  "send_* and atomic_lat without a launcher)")
      ->check(CLI::IsMember({"perftest", "godwit"}));
  command.add_flag("-H,--report-histogram", words.each_sample, "perftest's table, latency: every sample, sorted");
  command.add_flag("-U,--report-unsorted", words.unsorted, "the same in the order of time");
  command.add_option("-J,--output_file", words.json_file, "write the results to this JSON file");
  command.add_flag("--out_json", words.perftest_json, "the same, to perftest_out.json or --out_json_file");
  command.add_option("--out_json_file", words.perftest_json_file, "the same, to this file");
  command.add_flag("--json", words.json_to_stdout, "perftest's table: JSON on standard output instead of the table");
  command.add_option("--report", words.html_file, "write a page with charts to this HTML file");
}

}  // namespace

void add_perf_flags(CLI::App& command, PerfWords& words) {
  command.add_option("test", words.test, "what to measure, see below")->required();
  command.add_option("server", words.server, "without a launcher: where the server runs; none: this is the server");
  command.add_option("-p,--port", words.port, "without a launcher: TCP port of the server (default 18515)")
      ->check(CLI::Range(1, 65535));
  add_size_flags(command, words);
  add_run_flags(command, words);
  add_adapter_flags(command, words.adapter);
  add_output_flags(command, words);
  command.add_flag("-F,--CPU-freq", words.any_frequency,
                   "taken for perftest's sake, no effect: no processor frequency is assumed here");
  command
      .add_option("-c,--connection", words.connection, "taken for perftest's sake: RC is the only kind of connection")
      ->check(CLI::IsMember({"RC"}));
  command.footer(test_lines());
}

}  // namespace godwit::apps
