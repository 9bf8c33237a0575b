#include "pmi/launch_environment.hpp"

#include "pmi/environment.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace godwit::pmi {

void forget_outer_job() {
  constexpr std::array prefixes{"PMIX_", "PMI_", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "TORCHELASTIC_"};
  constexpr std::array names{"RANK",       "WORLD_SIZE",  "LOCAL_RANK", "LOCAL_WORLD_SIZE",
                             "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT"};
  for (const auto& [name, value] : environment_variables()) {
    const auto begins = [&name = name](const char* prefix) { return name.starts_with(prefix); };
    const bool setting = name.starts_with("PMIX_MCA_");  // the user's settings of the library
    if ((std::any_of(prefixes.begin(), prefixes.end(), begins) && !setting) ||
        std::find(names.begin(), names.end(), name) != names.end())
      unsetenv(name.c_str());
  }
}

std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> environment = changes;
  for (const auto& [name, value] : environment_variables()) {
    const auto replaces = [&name = name](const std::string& entry) { return entry.starts_with(name + "="); };
    if (std::none_of(changes.begin(), changes.end(), replaces))
      environment.push_back(fmt::format("{}={}", name, value));
  }
  return environment;
}

TemporaryDirectory::TemporaryDirectory() {
  std::error_code error;
  path_ = (std::filesystem::temp_directory_path(error) / "godwit-run.XXXXXX").string();
  if (error || mkdtemp(path_.data()) == nullptr) {
    throw Error(ErrorCode::bootstrap, fmt::format("godwit run: no temporary directory {}: {} (set TMPDIR)", path_,
                                                  error ? error.message() : std::strerror(errno)));
  }
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (error) fmt::print(stderr, "godwit run: {} could not be removed: {}\n", path_, error.message());
}

}  // namespace godwit::pmi
