//! An answer to `GET /containers/<id>/json`, of Docker and of Podman's compatible API: pure text.

use crate::owner::attribute;
use schema::owner::key;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Bytes of a name, an image or a label's value that are kept; users write them.
const TEXT_BYTES_MAX: usize = 512;

/// What is used of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected {
    /// The container's name.
    pub name: String,
    /// Image that it was started from, as it was named then.
    pub image: String,
    /// Those of its labels that are to be carried.
    pub labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    config: Option<Config>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Config {
    image: Option<String>,
    labels: Option<BTreeMap<String, String>>,
}

/// Reads an answer about the container `id`, keeping the labels with these keys; `None` where it is about another: an
/// id is also looked for among names, and a name may look like an id.
///
/// # Errors
/// It isn't the JSON of a container.
pub fn inspected(json: &[u8], id: &str, keys: &[String]) -> Result<Option<Inspected>, serde_json::Error> {
    let answer: Answer = serde_json::from_slice(json)?;
    if answer.id != id {
        return Ok(None);
    }
    let config = answer.config.unwrap_or_default();
    let labels = config.labels.unwrap_or_default();
    let wanted = labels.into_iter().filter(|(key, _)| keys.contains(key));
    Ok(Some(Inspected {
        name: cut(answer.name.trim_start_matches('/').to_owned()),
        image: cut(config.image.unwrap_or_default()),
        labels: wanted.map(|(key, value)| (key, cut(value))).collect(),
    }))
}

impl Inspected {
    /// The attributes of an owner that it gives; what is empty is absent.
    pub fn attributes(&self) -> impl Iterator<Item = (String, String)> {
        let plain = [(attribute::CONTAINER_NAME, &self.name), (key::IMAGE, &self.image)];
        let plain = plain.into_iter().map(|(key, value)| (key.to_owned(), value.clone()));
        let labels =
            self.labels.iter().map(|(label, value)| (format!("{}{label}", key::LABEL), value.clone()));
        plain.chain(labels).filter(|(_, value)| !value.is_empty())
    }
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "b43d92bf1e5c6f78bb9b7bc6f40721280299855ba692092716e3a1b6c0b86f3f";

    fn keys() -> Vec<String> {
        vec!["team".into(), "com.docker.compose.project".into()]
    }

    #[test]
    fn name_image_and_the_wanted_labels_are_kept() {
        let json = format!(
            r#"{{"Id":"{ID}","Created":"2026-10-01T08:00:00Z","State":{{"Pid":7}},"Name":"/train","Image":"sha256:1f",
                "Config":{{"Env":["PASSWORD=x"],"Image":"nvcr.io/nvidia/pytorch:26.09-py3",
                "Labels":{{"team":"vision","com.docker.compose.project":"","maintainer":"m"}}}}}}"#
        );
        let read = inspected(json.as_bytes(), ID, &keys()).expect("json").expect("this container");
        let attributes: Vec<(String, String)> = read.attributes().collect();
        let want = [
            ("container_name", "train"),
            ("image", "nvcr.io/nvidia/pytorch:26.09-py3"),
            ("label:team", "vision"),
        ];
        assert_eq!(attributes, want.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }

    #[test]
    fn what_docker_and_podman_answered_is_read() {
        let docker = include_bytes!("inspect/docker-20.10.json");
        let podman = include_bytes!("inspect/podman-4.3.json");
        let of_docker = "78836f993576455cc25a0970e0a50db10b0a83285bb608c976e471433a1f5252";
        let of_podman = "0f51b1051a2da2da163947da409c95cf10754216ed094cba9160daaefa9349c8";
        let cases =
            [(&docker[..], of_docker, "train:1", 2), (&podman[..], of_podman, "localhost/train:1", 1)];
        for (json, id, image, labels) in cases {
            let read = inspected(json, id, &keys()).expect("json").expect("this container");
            assert_eq!((read.name.as_str(), read.image.as_str()), ("train", image));
            assert_eq!((read.labels["team"].as_str(), read.labels.len()), ("vision", labels));
        }
    }

    #[test]
    fn an_answer_about_another_container_is_none_and_no_answer_is_an_error() {
        let other =
            br#"{"Id":"06dc5f","Name":"/b43d92bf1e5c6f78bb9b7bc6f40721280299855ba692092716e3a1b6c0b86f3f"}"#;
        assert_eq!(inspected(other, ID, &[]).expect("json"), None);
        assert!(inspected(b"<html>", ID, &[]).is_err());
        assert!(inspected(b"{}", ID, &[]).is_err(), "whose it is isn't said");
    }

    #[test]
    fn what_is_absent_or_endless_is_absent_or_cut() {
        let bare = format!(r#"{{"Id":"{ID}","Name":"/x","Config":{{"Labels":null}}}}"#);
        let read = inspected(bare.as_bytes(), ID, &keys()).expect("json").expect("this container");
        assert_eq!((read.image.as_str(), read.labels.len(), read.attributes().count()), ("", 0, 1));
        let long = "ä".repeat(1000);
        let json = format!(r#"{{"Id":"{ID}","Config":{{"Labels":{{"team":"{long}"}}}}}}"#);
        let read = inspected(json.as_bytes(), ID, &keys()).expect("json").expect("this container");
        assert_eq!(read.labels["team"].len(), TEXT_BYTES_MAX);
    }
}
