#include "tool/file_text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace godwit::apps {

std::string file_text(const std::string& path) {
  if (std::filesystem::is_directory(path))
    throw std::runtime_error(fmt::format("{}: cannot be read: Is a directory", path));
  std::ifstream file(path, std::ios::binary);
  const int why = errno;
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be read: {}", path, std::strerror(why)));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) throw std::runtime_error(fmt::format("{}: reading failed", path));
  return text;
}

}  // namespace godwit::apps
