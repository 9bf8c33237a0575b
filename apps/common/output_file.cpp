#include "common/output_file.hpp"

#include "common/usage.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace godwit::apps {

OutputFile::OutputFile(std::string flag, std::string path) : flag_(std::move(flag)), path_(std::move(path)) {
  if (path_.empty()) return;
  if (std::filesystem::is_directory(path_))
    throw UsageError(fmt::format("{} {}: is a directory; name a file in it", flag_, path_));
  partial_ = fmt::format("{}.{}.part", path_, ::getpid());
  if (!std::ofstream(partial_))
    throw UsageError(fmt::format("{} {}: cannot write there: {}", flag_, path_, std::strerror(errno)));
}

OutputFile::~OutputFile() {
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void OutputFile::write(std::string_view text) {
  if (!wanted()) return;
  std::ofstream file(partial_);
  file << text;
  file.close();
  if (!file) throw std::runtime_error(fmt::format("{} {}: writing failed: {}", flag_, path_, std::strerror(errno)));
  std::filesystem::rename(partial_, path_);
  partial_.clear();
}

}  // namespace godwit::apps
