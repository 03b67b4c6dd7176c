// SPDX-License-Identifier: Apache-2.0

/// An attribute of an element.
///
/// Names are the program's own words: there is none that a user could choose, none that holds a script, and no
/// `style`. An address is a `Link`, which cannot leave this site.
public struct Attribute: Hashable, Sendable {
    let name: String
    /// Nil for one that is there or not, such as `disabled`.
    let value: String?

    private init(_ name: String, _ value: String?) { (self.name, self.value) = (name, value) }

    public static func `class`(_ names: String) -> Self { Self("class", names) }
    public static func id(_ name: String) -> Self { Self("id", name) }
    public static func href(_ link: Link) -> Self { Self("href", link.text) }
    public static func src(_ link: Link) -> Self { Self("src", link.text) }
    public static func action(_ link: Link) -> Self { Self("action", link.text) }
    public static func method(_ method: FormMethod) -> Self { Self("method", method.rawValue) }
    public static func name(_ name: String) -> Self { Self("name", name) }
    public static func value(_ value: String) -> Self { Self("value", value) }
    public static func type(_ type: String) -> Self { Self("type", type) }
    public static func `for`(_ id: String) -> Self { Self("for", id) }
    public static func datetime(_ date: String) -> Self { Self("datetime", date) }
    public static func placeholder(_ text: String) -> Self { Self("placeholder", text) }
    public static func role(_ role: String) -> Self { Self("role", role) }
    /// What is read aloud shows its characters as text does.
    public static func aria(_ name: StaticString, _ value: String) -> Self {
        Self("aria-\(name)", VisibleText.shown(value))
    }
    public static func data(_ name: StaticString, _ value: String = "") -> Self {
        Self("data-\(name)", value)
    }
    /// Any other that takes the program's own words, such as `colspan` or an attribute of SVG.
    public static func named(_ name: StaticString, _ value: some CustomStringConvertible) -> Self {
        Self(checked(name), value.description)
    }
    /// One that is there or not: `checked`, `required`, `hidden`.
    public static func flag(_ name: StaticString, _ isSet: Bool = true) -> Self? {
        isSet ? Self(checked(name), nil) : nil
    }

    /// The name, unless it is one that has a function of its own, runs a script or holds a style.
    private static func checked(_ name: StaticString) -> String {
        let name = name.description
        // A mistake of the program itself, which its first test shows.
        precondition(
            !name.hasPrefix("on") && !["href", "src", "action", "style", "srcdoc"].contains(name),
            "attribute '\(name)' is not to be written by its name"
        )
        return name
    }

    public enum FormMethod: String, Sendable { case get, post }
}
