// Options as people read them.
#pragma once

#include <string>

namespace godwit::core {

class OptionSet;

/// What `godwit info --options` prints: by group, name, type, default, what was set and where, help; then aliases.
std::string options_text(const OptionSet& options);
/// docs/options.md: the declarations, whatever is set.
std::string options_markdown(const OptionSet& options);

}  // namespace godwit::core
