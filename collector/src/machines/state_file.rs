//! A state file of libvirt's (`/run/libvirt/qemu/NAME.xml`): pure text, two elements of it.
//!
//! libvirt writes a machine's name and UUID first in its `domain`, and escapes what users write after them, so the first
//! `name` and `uuid` there are the machine's own; no XML library is needed for that.

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Machine {
    /// Name.
    pub name: String,
    /// UUID in lower case, as NVML has it.
    pub uuid: String,
    /// Number that it has while it runs.
    pub id: Option<String>,
    /// Project that OpenStack's Nova made it for: its id and name.
    pub project: Option<(String, String)>,
}

/// The machine of a state file; `None` where it is no such file.
pub(super) fn machine(xml: &str) -> Option<Machine> {
    let (_, domain) = xml.split_once("<domain ")?;
    let (attributes, content) = domain.split_once('>')?;
    let uuid = element(content, "uuid")?.to_ascii_lowercase();
    let id = ["id='", "id=\""].iter().find_map(|quote| attributes.split_once(quote));
    let id = id.and_then(|(_, rest)| rest.split(['\'', '"']).next()).filter(|id| !id.is_empty());
    is_uuid(&uuid).then_some(())?;
    let name = unescape(element(content, "name")?);
    Some(Machine { name, uuid, id: id.map(str::to_owned), project: project(content) })
}

/// `<nova:project uuid="ID">NAME</nova:project>` of the metadata, which only who may define machines writes.
fn project(content: &str) -> Option<(String, String)> {
    let (metadata, _) = content.split_once("<metadata>")?.1.split_once("</metadata>")?;
    let (_, rest) = metadata.split_once("<nova:project uuid=\"")?;
    let (id, rest) = rest.split_once("\">")?;
    let (name, _) = rest.split_once("</nova:project>")?;
    (!id.is_empty() && !id.contains('<') && !name.contains('<')).then(|| (unescape(id), unescape(name)))
}

fn element<'a>(content: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = content.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    (!text.is_empty() && !text.contains('<')).then_some(text)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

fn unescape(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_uuid_are_the_machines_own() {
        let xml = "<!--\nWARNING: THIS IS AN AUTO-GENERATED FILE.\n-->\n\
            <domstatus state='running' reason='booted' pid='2711'>\n\
              <monitor path='/var/lib/libvirt/qemu/domain-2-a/monitor.sock' type='unix'/>\n\
              <domain type='kvm' id='2'>\n\
                <name>R&amp;D &lt;1&gt;</name>\n\
                <uuid>8F0A1C2D-3e4b-5a69-7788-99aabbccddee</uuid>\n\
                <title>&lt;name&gt;other&lt;/name&gt;</title>\n\
                <metadata><nova:instance xmlns:nova=\"http://openstack.org/xmlns/libvirt/nova/1.1\"><nova:name>vm</nova:name>\n\
                  <nova:owner><nova:user uuid=\"u1\">ada</nova:user><nova:project uuid=\"p1\">vision</nova:project></nova:owner>\n\
                </nova:instance></metadata>\n\
                <devices><interface><name>eth</name></interface></devices>\n\
              </domain>\n</domstatus>\n";
        let read = machine(xml).expect("a machine");
        assert_eq!(read.name, "R&D <1>");
        assert_eq!(read.uuid, "8f0a1c2d-3e4b-5a69-7788-99aabbccddee");
        assert_eq!(read.id.as_deref(), Some("2"));
        assert_eq!(read.project, Some(("p1".into(), "vision".into())));
    }

    #[test]
    fn what_is_cut_or_no_state_file_is_none() {
        let whole = "<domstatus><domain type='kvm'><name>a</name><uuid>8f0a1c2d-3e4b-5a69-7788-99aabbccddee</uuid></domain>";
        let read = machine(whole).expect("a machine");
        assert_eq!((read.id, read.project), (None, None));
        for cut in
            ["", "<network><name>default</name></network>", &whole[..60], "<domain type='kvm'><name>a</name>"]
        {
            assert_eq!(machine(cut), None, "{cut}");
        }
    }
}
