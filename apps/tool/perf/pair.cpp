#include "tool/perf/pair.hpp"

#include "common/run_report.hpp"
#include "common/usage.hpp"
#include "runtime/pair.hpp"
#include "tool/perf/agreement.hpp"
#include "tool/perf/perftest_run.hpp"
#include "tool/perf/runner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <climits>
#include <cstdio>

namespace godwit::apps {

namespace {

/// On standard error if standard output is to be JSON.
void say_waiting(const PerfOptions& options) {
  const std::string text = fmt::format("* waiting for a client on port {} *", options.port);
  const std::string stars(text.size(), '*');
  std::FILE* const stream = options.json_to_stdout ? stderr : stdout;
  fmt::print(stream, "\n{}\n{}\n{}\n", stars, text, stars);
  std::fflush(stream);
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

/// The files of this side; null, and why, if they cannot be made.
std::unique_ptr<RunReport> open_files(const PerfOptions& options, std::string& problem) {
  try {
    return std::make_unique<RunReport>(options.json_file, options.html_file);
  } catch (const UsageError& error) {
    problem = error.what();
    return nullptr;
  }
}

/// Collective over two ranks: the other one's.
Terms exchange_terms(Communicator& world, const Terms& own) {
  constexpr std::size_t most_bytes = 16 * 1024;
  const std::string out = encode(own);
  if (out.size() > most_bytes) throw UsageError("--sizes: too long a list to tell the other side");
  std::string in(most_bytes, '\0');
  in.resize(world.sendrecv(out, 1 - world.rank(), in, 1 - world.rank()).size);
  return decode(in);
}

void agree(Communicator& world, const PerfOptions& options, const std::string& problem) {
  const Terms own = terms_of(options, host_name(), problem);
  const Terms other = exchange_terms(world, own);
  const bool is_server = world.rank() == 0;
  if (!problem.empty()) throw UsageError(problem);
  if (!other.problem.empty())
    throw UsageError(
        fmt::format("the {} ({}) cannot go on: {}", is_server ? "client" : "server", other.host, other.problem));
  const std::string text = is_server ? disagreement(own, other) : disagreement(other, own);
  if (!text.empty()) throw UsageError(text);
}

}  // namespace

int run_pair(const PerfOptions& options, const std::map<std::string, std::string>& set) {
  Context context = runtime::open_pair({.server = options.server, .port = options.port},
                                       {.threads = options.thread_mode, .set = set}, [&] { say_waiting(options); });
  Communicator world = context.world();
  std::string problem;
  // Our own form writes its files itself, at the client.
  const auto files = open_files(options.form == Form::perftest ? options : PerfOptions{}, problem);
  agree(world, options, problem);
  Communicator client_first = world.split(0, -world.rank());
  if (options.form == Form::own) return run_perf(context, client_first, options);
  return run_perftest(context, client_first, options,
                      {.origin = "client (rank 1)", .target = "server (rank 0)", .both_print = true}, files.get());
}

}  // namespace godwit::apps
