// Whole files as text. One thread.
#pragma once

#include <string>

namespace godwit::apps {

/// Throws std::runtime_error that names the file and why it cannot be read.
std::string file_text(const std::string& path);

}  // namespace godwit::apps
