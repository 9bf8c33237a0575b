// The ranks' output on its way through `godwit run`: whole lines, in a thread of its own, so that a reader who
// stops reading does not stop the launcher.
#pragma once

#include <godwit/types.hpp>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace godwit::pmi {

class LaunchOutput {
 public:
  /// `tag`: "[3] " before each line.
  explicit LaunchOutput(bool tag);
  /// finish(true), if that has not happened.
  ~LaunchOutput();
  LaunchOutput(const LaunchOutput&) = delete;
  LaunchOutput& operator=(const LaunchOutput&) = delete;

  /// A pipe whose lines go to `target` (1 or 2). Returns the writing end, which the caller closes. Before start().
  int add(Rank rank, int target);
  void start();
  /// After all ranks have ended: returns when what they wrote is out, even if some process that outlived its rank
  /// still holds a pipe. `give_up`: leaves what cannot be written at once.
  void finish(bool give_up);

 private:
  struct Source {
    Rank rank;
    int fd;
    int target;
    std::string partial;  // a line whose end has not come
  };

  void run();
  void take_orders();
  void read_from(Source& source);
  void drain(Source& source);
  void write_lines(Source& source, bool at_end);
  void write_all(int target, std::string_view text);
  static void close_source(Source& source);
  void signal_thread(char what);

  const bool tag_;
  std::vector<Source> sources_;
  int control_[2] = {-1, -1};  // 'f' finish, 'g' give up
  bool finishing_ = false, giving_up_ = false;
  std::thread thread_;
};

}  // namespace godwit::pmi
