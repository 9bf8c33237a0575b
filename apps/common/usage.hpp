// How the programs end: wrong usage is status 2, a failure is status 1, each with one line on standard error.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace godwit::apps {

/// The command line is wrong; the text says which word and what is accepted.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Not an error: the text asked for (--help, --version) goes to standard output and the program ends with 0.
class TextRequested : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The error has been printed already (by another rank, too); only the exit status is left.
class Reported : public std::runtime_error {
 public:
  Reported(int exit_status, const std::string& text) : std::runtime_error(text), exit_status_(exit_status) {}
  int exit_status() const noexcept { return exit_status_; }

 private:
  int exit_status_;
};

/// Runs `body` and turns exceptions into exit statuses and lines that begin with "<program>: ". Every rank prints its
/// line: one that waited for another to do so might be ended by the launcher first. See also fail_together().
int guarded_main(std::string_view program, const std::function<int()>& body);

/// False when a launcher's variables say that this process is a rank above 0. For what has to be said before
/// (or without) a Context; afterwards ask the Context.
bool first_rank_by_environment();

}  // namespace godwit::apps
