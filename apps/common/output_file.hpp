// A file that a program writes at its end. One thread.
#pragma once

#include <string>
#include <string_view>

namespace godwit::apps {

/// Opened before anything is measured, so that a wrong path costs nothing. Writes a new file beside it and renames, so
/// that an aborted run leaves no half of a result.
class OutputFile {
 public:
  /// `flag` is named in errors. Throws UsageError when the file cannot be made. An empty path: write() does nothing.
  OutputFile(std::string flag, std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  bool wanted() const noexcept { return !path_.empty(); }
  const std::string& path() const noexcept { return path_; }
  /// Throws std::runtime_error when the disk is full and the like.
  void write(std::string_view text);

 private:
  std::string flag_, path_, partial_;
};

}  // namespace godwit::apps
