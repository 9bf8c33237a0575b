#include "common/run_report.hpp"

#include "common/cli.hpp"
#include "common/job.hpp"
#include "common/together.hpp"
#include "common/usage.hpp"
#include "report/page.hpp"
#include "report/read.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <godwit/version.hpp>

#include <chrono>
#include <cstdint>

namespace godwit::apps {

void complete(Report& report, const Communicator& world, const std::vector<Seat>& seats) {
  report.version = version();
  if (report.transport.empty()) report.transport = transports_in_use(world, seats);
  report.ranks = world.size();
  report.hosts = static_cast<int>(first_of_each_host(seats).size());
  report.command = own_command_line();
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  report.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
  report.machine = this_machine();
  report.machine.pinning = pinning_text(seats);
}

void RunReport::write(Report report, const Communicator& world, const std::vector<Seat>& seats) {
  if (!json_.wanted() && !html_.wanted()) return;
  complete(report, world, seats);
  const std::string json = to_json(report);
  json_.write(json);
  if (html_.wanted()) html_.write(report::html_page(report::read_document({.file = html_.path(), .text = json})));
}

std::unique_ptr<RunReport> open_run_report(Communicator& communicator, const std::string& json_path,
                                           const std::string& html_path) {
  std::unique_ptr<RunReport> files;
  std::string problem;
  if (communicator.rank() == 0) try {
      files = std::make_unique<RunReport>(json_path, html_path);
    } catch (const UsageError& error) {
      problem = error.what();
    }
  std::int32_t failed = problem.empty() ? 0 : 1;
  communicator.broadcast(failed, 0);
  if (failed != 0) fail_together(communicator, 2, problem);
  return files;
}

}  // namespace godwit::apps
