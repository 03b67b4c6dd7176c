// SPDX-License-Identifier: Apache-2.0

/// The files of Assets/, which the program carries with it.
enum EmbeddedAssets {
    static let all: [(name: String, bytes: [UInt8])] = [
        ("dialog.js", PackageResources.dialog_js),
        ("forms.js", PackageResources.forms_js),
        ("fresh.js", PackageResources.fresh_js),
        ("live.js", PackageResources.live_js),
        ("morph.js", PackageResources.morph_js),
        ("output.js", PackageResources.output_js),
        ("page.js", PackageResources.page_js),
        ("time.js", PackageResources.time_js),
        ("icon.svg", PackageResources.icon_svg),
        ("style.css", PackageResources.style_css),
    ]
}
