// The files of -J and --report. Owner thread of the context.
#pragma once

#include "common/output_file.hpp"
#include "common/report.hpp"
#include "common/seats.hpp"

#include <godwit/communicator.hpp>

#include <memory>

namespace godwit::apps {

class RunReport {
 public:
  /// Empty paths: not wanted. Throws UsageError.
  RunReport(const std::string& json_path, const std::string& html_path)
      : json_("-J", json_path), html_("--report", html_path) {}

  /// complete() and into the files, if any are wanted.
  void write(Report report, const Communicator& world, const std::vector<Seat>& seats);

 private:
  OutputFile json_, html_;
};

/// Completes the report: who took part, where, by which command. Without a transport in it, to be called by rank 0,
/// while the others are in (or on their way to) a barrier.
void complete(Report& report, const Communicator& world, const std::vector<Seat>& seats);

/// Collective. Rank 0 opens the files, the others get null. fail_together() if it cannot.
std::unique_ptr<RunReport> open_run_report(Communicator& communicator, const std::string& json_path,
                                           const std::string& html_path);

}  // namespace godwit::apps
