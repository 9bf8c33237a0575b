// What `godwit run` changes in its surroundings and its ranks': variables, and a temporary directory.
#pragma once

#include <string>
#include <vector>

namespace godwit::pmi {

/// For a launcher that runs inside another job: neither it nor its ranks may be taken for members of that. Removes
/// the other launcher's variables from this process's environment.
void forget_outer_job();

/// This process's environment, "NAME=VALUE", with `changes` in place of what they name.
std::vector<std::string> environment_with(const std::vector<std::string>& changes);

/// A new directory under TMPDIR, removed with everything in it.
class TemporaryDirectory {
 public:
  /// Throws Error(bootstrap).
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace godwit::pmi
