// Numbers and texts as reports show them. Pure.
#pragma once

#include <string>
#include <string_view>

namespace godwit::apps::report {

/// Three significant digits and a suffix of 1000s: "0.163", "12.5", "8.32M"; an exponent beyond those.
std::string short_number(double value);
/// A size: "0", "8", "8193", "64K", "1.5".
std::string size_text(double bytes);

/// Text for XML and HTML, between tags and in attributes. Control characters, which XML cannot hold, become U+FFFD.
std::string escaped(std::string_view text);

}  // namespace godwit::apps::report
